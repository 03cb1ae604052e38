package plan

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/berth-run/berth/internal/evalconfig"
	"github.com/berth-run/berth/internal/evalconfig/evalconfigtest"
	"github.com/berth-run/berth/internal/shardproto"
)

// The wanted values are from Python's hashlib, not from this implementation.
func TestShardOf(t *testing.T) {
	for _, tc := range []struct {
		id            string
		of2, of3, of7 int
	}{
		{"rb-001", 0, 1, 4},
		{"rb-002", 0, 0, 5},
		{"case-0", 1, 0, 6},
		{"case-4", 1, 2, 5},
		{"case-5", 1, 1, 0},
		{"a", 0, 2, 2},
		{"été", 0, 2, 3},
		{"case with spaces/and:signs", 0, 0, 1},
	} {
		for n, want := range map[int]int{1: 0, 2: tc.of2, 3: tc.of3, 7: tc.of7} {
			if got := ShardOf(tc.id, n); got != want {
				t.Errorf("ShardOf(%q, %d) = %d, want %d", tc.id, n, got, want)
			}
		}
	}
}

const config = `{"name": "e", "datasets": ["cases.json"], "client": "berth/client/codex", "model": "m", "trials": 2,
  "servers": {
    "wiki": {"transport": "http", "serverUrl": "https://h.test/mcp", "auth": {"accessTokenEnv": "WIKI_TOKEN"}},
    "raw":  {"transport": "http", "serverUrl": "https://r.test/mcp", "auth": {"accessToken": "PLANTED-SECRET"}},
    "calc": {"transport": "stdio", "command": "/bin/calc"}},
  "variants": [{"name": "plain", "servers": []}, {"name": "all", "inputTemplate": "Q: {{input}}"}, {"name": "calc", "servers": ["calc"]}]}`

func eval(t *testing.T, cases int) *evalconfig.Eval {
	t.Helper()
	var list []string
	for i := range cases {
		list = append(list, fmt.Sprintf(`{"id": "c%d", "input": "ask %d"}`, i, i))
	}
	return evalconfigtest.Resolve(t, config, `{"name": "d", "cases": [`+strings.Join(list, ",")+`]}`)
}

func TestBundle(t *testing.T) {
	p, err := New("20260101T000000Z-abcdef", eval(t, 1), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Bundles) != 1 || len(p.Trials) != 6 {
		t.Fatalf("%d bundles, %d trials", len(p.Bundles), len(p.Trials))
	}
	raw, err := json.Marshal(p.Bundles[0])
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), "PLANTED-SECRET") {
		t.Error("the bundle holds the token")
	}
	b := p.Bundles[0]
	if diff := cmp.Diff([]string{"wiki", "raw"}, b.TokenServers); diff != "" {
		t.Errorf("token servers:\n%s", diff)
	}
	var got []string
	for _, batch := range b.Batches {
		for _, r := range batch.Requests {
			got = append(got, fmt.Sprintf("%s/%s/%d %q %s %d servers", batch.Variant, r.CaseID, r.Trial, r.Input.Prompt, r.Config.Options, len(r.Input.Servers)))
		}
	}
	want := []string{
		`plain/c0/0 "ask 0" {"timeout":300000} 0 servers`, `plain/c0/1 "ask 0" {"timeout":300000} 0 servers`,
		`all/c0/0 "Q: ask 0" {"timeout":300000} 3 servers`, `all/c0/1 "Q: ask 0" {"timeout":300000} 3 servers`,
		`calc/c0/0 "ask 0" {"timeout":300000} 1 servers`, `calc/c0/1 "ask 0" {"timeout":300000} 1 servers`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if b.Format != "mst.shard/v1" || b.Kind != "bundle" || b.Shard.Count != 1 || b.Plugins == nil {
		t.Errorf("bundle %s", raw)
	}
}

func TestTokenServersOnlyWhereUsed(t *testing.T) {
	e := eval(t, 1)
	e.Variants = e.Variants[2:] // calc only
	p, err := New("r", e, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{}, p.Bundles[0].TokenServers); diff != "" {
		t.Error(diff)
	}
}

func TestNoShards(t *testing.T) {
	if _, err := New("r", eval(t, 1), 0, nil); err == nil {
		t.Error("0 shards were planned")
	}
}

// Every trial that isn't done is in exactly one bundle, in the shard of its case; nothing else is;
// no bundle is empty.
func TestProperties(t *testing.T) {
	e := eval(t, 40)
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(1, 12).Draw(t, "shards")
		skip := rapid.IntRange(1, 5).Draw(t, "skip")
		done := func(k shardproto.Key) bool { return (len(k.Variant)+len(k.CaseID)+k.Trial)%skip == 0 }
		p, err := New("r", e, count, done)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[shardproto.Key]int{}
		for _, b := range p.Bundles {
			if len(b.Batches) == 0 {
				t.Fatalf("shard %d is empty", b.Shard.Index)
			}
			for _, batch := range b.Batches {
				for _, r := range batch.Requests {
					if ShardOf(r.CaseID, count) != b.Shard.Index {
						t.Fatalf("case %s is in shard %d", r.CaseID, b.Shard.Index)
					}
					seen[shardproto.Key{Variant: batch.Variant, CaseID: r.CaseID, Trial: r.Trial}]++
				}
			}
		}
		for _, k := range p.Trials {
			want := 1
			if done(k) {
				want = 0
			}
			if seen[k] != want {
				t.Fatalf("%v is planned %d times, want %d", k, seen[k], want)
			}
			delete(seen, k)
		}
		for k, n := range seen {
			if n != 0 {
				t.Fatalf("%v isn't of the run", k)
			}
		}
	})
}

func TestCases(t *testing.T) {
	e := eval(t, 3)
	for want, done := range map[int]func(shardproto.Key) bool{
		3: func(k shardproto.Key) bool { return k.Trial == 0 },
		2: func(k shardproto.Key) bool { return k.CaseID == "c1" },
		0: func(shardproto.Key) bool { return true },
	} {
		if got := Cases(e, done); got != want {
			t.Errorf("%d cases are left, want %d", got, want)
		}
	}
}
