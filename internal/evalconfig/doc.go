// Package evalconfig reads eval configs and datasets, strictly: what isn't a key is an error that
// says where it is and what was probably meant, and every problem of a file comes at once. It
// resolves the variants and picks the cases of a run (contract §1).
//
// The files are MST's, unchanged. What needs MST's JavaScript extensions (plugins, shared configs,
// connectors, judges, …) is understood well enough to be named, and isn't run. It knows no client's
// behaviour beyond the options each takes, and no container engine.
package evalconfig
