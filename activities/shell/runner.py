"""The door of the runner process: ``python -I -S -E runner.py DIRECTORY``.

Isolated mode keeps the user's environment and site packages out, which also makes it
start fast; therefore the place of our own packages has to be told.
"""

import sys

sys.path.insert(0, __file__.rpartition("/activities/")[0])

from activities.shell.supervision import main

main(sys.argv[1])
