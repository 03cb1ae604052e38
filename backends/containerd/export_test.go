package containerd

// FIFODir is where execs' FIFOs are, as they're seen from here.
func (b *Backend) FIFODir() string { return b.engine.root + b.engine.fifoDir() }

// SetRoot makes berth see other files than the engine at the same paths.
func (b *Backend) SetRoot(dir string) { b.engine.root = dir }

// SnapshotterName is the one in use.
func (b *Backend) SnapshotterName() string { return b.snapshotter }
