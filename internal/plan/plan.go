// Package plan lays a run out: variants × cases × trials, dealt to shards by the case's hash, as the
// bundle that each shard gets (contract §3.1, §3.2). It starts nothing, and a bundle holds no secret.
package plan

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/berth-run/berth/internal/evalconfig"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/internal/version"
	"github.com/berth-run/berth/session/client"
)

// Plan is a run's trials and the shards that have some.
type Plan struct {
	// Trials are all that the run is to have, those already collected included, in the order of
	// variants, cases and trials.
	Trials []shardproto.Key
	// Bundles are for the shards that have trials to run, by rising Shard.Index.
	Bundles []shardproto.Bundle
}

// ShardOf is the shard, of n, that every variant and trial of a case goes to.
func ShardOf(caseID string, n int) int {
	sum := sha256.Sum256([]byte(caseID))
	return int(uint64(binary.BigEndian.Uint32(sum[:4])) % uint64(n))
}

// New plans a run over count shards. done tells which trials a resumed run has already; nil has
// none. A shard without trials gets no bundle, and so isn't started.
func New(runID string, e *evalconfig.Eval, count int, done func(shardproto.Key) bool) (*Plan, error) {
	if count < 1 {
		return nil, fmt.Errorf("%d shards; a run needs at least 1", count)
	}
	if done == nil {
		done = func(shardproto.Key) bool { return false }
	}
	p := &Plan{Trials: trials(e)}
	for i := range count {
		b := shardproto.Bundle{
			Format: shardproto.Format, Kind: shardproto.KindBundle, RunID: runID, MST: version.Version,
			Shard:   shardproto.Shard{Index: i, Count: count},
			Plugins: []string{}, TokenServers: []string{}, Batches: batches(e, i, count, done),
		}
		if len(b.Batches) == 0 {
			continue
		}
		b.TokenServers = tokenServers(e, b.Batches)
		p.Bundles = append(p.Bundles, b)
	}
	return p, nil
}

// Cases is how many of an eval's cases have a trial to run: more shards than these would be of no use.
func Cases(e *evalconfig.Eval, done func(shardproto.Key) bool) int {
	left := map[string]bool{}
	for _, k := range trials(e) {
		if !done(k) {
			left[k.CaseID] = true
		}
	}
	return len(left)
}

func trials(e *evalconfig.Eval) []shardproto.Key {
	var keys []shardproto.Key
	for i := range e.Variants {
		for j := range e.Cases {
			for t := range e.Cases[j].Trials {
				keys = append(keys, shardproto.Key{Variant: e.Variants[i].Name, CaseID: e.Cases[j].ID, Trial: t})
			}
		}
	}
	return keys
}

// batches are one per variant with something to do in this shard.
func batches(e *evalconfig.Eval, index, count int, done func(shardproto.Key) bool) []shardproto.Batch {
	var out []shardproto.Batch
	for i := range e.Variants {
		v := &e.Variants[i]
		b := shardproto.Batch{Variant: v.Name}
		for j := range e.Cases {
			c := &e.Cases[j]
			if ShardOf(c.ID, count) != index {
				continue
			}
			for t := range c.Trials {
				if !done(shardproto.Key{Variant: v.Name, CaseID: c.ID, Trial: t}) {
					b.Requests = append(b.Requests, request(v, c, t))
				}
			}
		}
		if len(b.Requests) > 0 {
			out = append(out, b)
		}
	}
	return out
}

func request(v *evalconfig.Variant, c *evalconfig.Case, trial int) shardproto.Request {
	servers := make([]client.Server, len(v.Servers))
	for i := range v.Servers {
		servers[i] = v.Servers[i].Server
		servers[i].Token = ""
	}
	return shardproto.Request{
		CaseID: c.ID,
		Trial:  trial,
		Config: shardproto.Config{Type: v.Client, Model: v.Model, Options: v.Options},
		Input:  shardproto.Input{Prompt: v.Prompt(c.Input), Servers: servers},
	}
}

// tokenServers are the labels, in the config's order, whose bearer some batch needs.
func tokenServers(e *evalconfig.Eval, batches []shardproto.Batch) []string {
	used := map[string]bool{}
	for _, b := range batches {
		for _, s := range b.Requests[0].Input.Servers {
			used[s.Label] = true
		}
	}
	labels := []string{}
	for i := range e.Config.Servers {
		if s := &e.Config.Servers[i]; used[s.Label] && s.NeedsToken() {
			labels = append(labels, s.Label)
		}
	}
	return labels
}
