//go:build !linux

package rig

// InNamespaces is for Linux only.
func (p *Project) InNamespaces(string) { p.T.Skip("needs Linux's namespaces") }

// InPIDNamespace is for Linux only.
func (p *Project) InPIDNamespace() { p.T.Skip("needs Linux's namespaces") }
