"""``python -m wallsite``, which ``torchrun -m wallsite`` needs."""

from wallsite.cli import main

main()
