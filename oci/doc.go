// Package oci decides what a shard may do. It turns a ShardSpec, the few things that a run may
// choose, into a complete OCI runtime spec: the user, mounts, limits, namespaces, capabilities (none)
// and seccomp profile of every shard on every engine. It knows no engine and starts nothing; a
// backend carries the spec, and package selfcheck proves from inside that it is in force.
package oci
