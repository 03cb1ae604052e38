// Package rig is what end-to-end tests share: the built berth, projects with an eval in them, a gateway
// that can hold an answer back, and looks at what is left on an engine and on the machine.
package rig
