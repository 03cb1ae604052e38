package rig

import (
	"github.com/berth-run/berth/internal/leak"
	"github.com/berth-run/berth/internal/runner"
)

// LookAround looks through what a run has on the coordinator's side.
func (p *Project) LookAround(s *leak.Scanner, c *Command, g *Gate, mode string) {
	p.T.Helper()
	for _, dir := range p.Runs() {
		p.tree(s, "run", dir)
	}
	p.tree(s, "temporary files", p.Path("tmp"))
	s.Text("stderr", c.said())
	if mode == runner.CredentialFile {
		s.Text("gateway", g.Logged())
	} else {
		s.Text("gateway", "not asked: it can't know a shard's ticket")
	}
}

func (p *Project) tree(s *leak.Scanner, place, dir string) {
	p.T.Helper()
	if err := s.Tree(place, dir); err != nil {
		p.T.Fatal(err)
	}
}

// noToken checks what the project's runs have left on disk.
func (p *Project) noToken(g *Gate) {
	p.T.Helper()
	token, err := g.Token.Current()
	if err != nil {
		p.T.Error(err)
		return
	}
	s := leak.New(leak.Secret{Name: "the token", Value: token})
	for _, dir := range p.Runs() {
		p.tree(s, "run", dir)
	}
	p.tree(s, "temporary files", p.Path("tmp"))
	for _, f := range s.Found() {
		p.T.Error(f)
	}
}
