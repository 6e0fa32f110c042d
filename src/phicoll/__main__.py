import sys

from phicoll.cli import main

sys.exit(main())
