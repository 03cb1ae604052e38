package atspi

// Budgets of a driver (contract §4.2 and §4.4). What goes over one fails; nothing is cut short.
const (
	maxApps    = 128     // on the desktop
	maxNodes   = 5000    // of a tree
	maxEvents  = 256     // kept for a listener
	maxRetries = 2       // of a snapshot, when the tree changes under it
	maxManaged = 512     // children of a table or list that makes them on demand
	maxActions = 64      // of a node
	maxObjects = 256     // of a text, itself included
	maxDepth   = 16      // of a text's embedded objects
	maxText    = 2 << 20 // bytes
)
