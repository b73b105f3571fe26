"""The three physical walls of AI infrastructure, as tables, models, probes and figures.

Nothing heavy is imported here: ``import wallsite`` reads no data and needs no torch, no
matplotlib and no GPU. Import the part you want::

    from wallsite import roofline, tables

    h100 = tables.accelerator("h100-sxm")
    roofline.ridge_point(h100.peak("bf16").si, h100.bandwidth.si)
"""

__version__ = "0.1.0"
