// Package image builds the image that a client's shards run from, with no daemon, no registry and
// no root, and hands it to a container engine.
//
// An image is a stack of layers, the one that changes most on top:
//
//	root file system   mmdebstrap from the machine's Debian mirror, or a base image of the user's
//	package            a desktop app's files, out of a Debian package that the user brings
//	app                the client's binaries, out of an npm package locked by its integrity
//	overlay            a directory of the user's, copied over the root: baked-in connectors
//	identity           the user berth, and the directories that a shard mounts tmpfs on
//	worker             berth-worker, so a new berth never rebuilds what is below
//
// Layers aren't compressed: an import is then a copy, where compressing 600 MB would take longer
// than all the rest. Everything is written with one time stamp, in sorted order and without owners
// of the build machine, so the same packages, app, overlay and worker give the same digests.
//
// Two names have to be told apart. Result.Ref is made of what goes in (recipe, lock, worker, seccomp
// profile), before anything is built. The digest is made of what came out, which depends on the
// packages the mirror had that day. A root file system is built once for a recipe and then kept; only
// Options.Refresh asks the mirror again, and gives the same Ref a new digest.
//
// The package doesn't run containers, print, or know how an app is driven.
package image
