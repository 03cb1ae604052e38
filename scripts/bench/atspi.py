"""Reads the whole tree of one app through libatspi and prints how many nodes it has and how many
milliseconds that took: the peer of the snapshot. Its start, its imports and finding the app aren't in
the time. Of every node it reads what a snapshot has: role, name, states, interfaces and children; the
parent is known from the way down.
"""

import sys
import time

import gi

gi.require_version("Atspi", "2.0")
from gi.repository import Atspi  # noqa: E402


def find(name):
    desktop = Atspi.get_desktop(0)
    for i in range(desktop.get_child_count()):
        app = desktop.get_child_at_index(i)
        if app is not None and app.get_name() == name and app.get_child_count() > 0:
            return app
    sys.exit(f"no app {name} on the accessibility bus")


def walk(app):
    nodes = []
    open_nodes = [(app, None)]
    while open_nodes:
        node, parent = open_nodes.pop()
        children = [node.get_child_at_index(i) for i in range(node.get_child_count())]
        nodes.append((
            node.get_role(), node.get_name(), node.get_state_set().get_states(), node.get_interfaces(),
            parent, children,
        ))
        open_nodes.extend((child, node) for child in children if child is not None)
    return nodes


app = find(sys.argv[1])
start = time.perf_counter()
nodes = walk(app)
print(len(nodes), 1000 * (time.perf_counter() - start))
