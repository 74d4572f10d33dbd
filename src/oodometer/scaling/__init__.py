"""Beyond one machine: evaluations and builds on the nodes of a Ray cluster, with the results of a single machine.

``cluster`` connects and counts what there is room for; ``replicas`` keeps copies of a model on the nodes and hands them
blocks of images; ``tasks`` has blocks of a build made. ``carried`` is what goes to the nodes along with either.
"""

from oodometer.scaling.cluster import Cluster

__all__ = ["Cluster"]
