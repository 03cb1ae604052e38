//go:build !linux

package e2e

func (p *project) inNamespaces(string) { p.t.Skip("needs Linux's namespaces") }
