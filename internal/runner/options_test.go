package runner

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestParseOptions(t *testing.T) {
	o, err := ParseOptions([]string{"shards=3", "keep=failed", "memory=1536m", "limits=best-effort", "deadman=90s", "silence=20s", "packages=nodejs,python3"})
	if err != nil {
		t.Fatal(err)
	}
	if o.Shards != 3 || o.Keep != KeepFailed || o.Memory != 1536<<20 || o.Limits != LimitsBestEffort || o.Deadman != 90*time.Second || o.Silence != 20*time.Second || len(o.Packages) != 2 {
		t.Errorf("got %+v", o)
	}
	if o.Network != NetworkAuto || o.Credential != CredentialFile {
		t.Errorf("defaults: got %+v", o)
	}
	if beat := o.Heartbeat(); beat != 5*time.Second {
		t.Errorf("a heartbeat every %v", beat)
	}
	if beat := (Options{}).Heartbeat(); beat != 15*time.Second {
		t.Errorf("by default a heartbeat every %v", beat)
	}
}

func TestShardsAuto(t *testing.T) {
	if o, err := ParseOptions([]string{"shards=auto"}); err != nil || o.Shards != ShardsAuto || o.Given()["shards"] != "auto" {
		t.Errorf("got %+v, %v", o, err)
	}
}

func TestOptionsForRun(t *testing.T) {
	for pair, ok := range map[string]bool{"shards=2": true, "image=x": true, "overlay=dir": false, "app=a.deb": false, "packages=jq": false, "suite=sid": false, "codexVersion=1": false, "mirror=x": false} {
		o, err := ParseOptions([]string{pair})
		if err != nil {
			t.Fatal(err)
		}
		if err := o.ForRun(); (err == nil) != ok || err != nil && !errors.Is(err, ErrOption) {
			t.Errorf("%s: got %v, fine is %t", pair, err, ok)
		}
	}
}

func TestParseOptionsRefuses(t *testing.T) {
	for _, c := range []struct {
		pairs []string
		want  string
	}{
		{[]string{"shards"}, "key=value"},
		{[]string{"shards="}, "key=value"},
		{[]string{"shards=0"}, "from 1 to 256"},
		{[]string{"shards=two"}, "from 1 to 256, or auto"},
		{[]string{"shard=2"}, "known are shards, keep"},
		{[]string{"shards=2", "shards=2"}, "given twice"},
		{[]string{"keep=sometimes"}, "never, failed, always"},
		{[]string{"memory=2x"}, "such as 2g"},
		{[]string{"memory=99999999999g"}, "such as 2g"},
		{[]string{"memory=-1"}, "such as 2g"},
		{[]string{"memory=127m"}, "at least 128m"},
		{[]string{"pids=0"}, "at least 64"},
		{[]string{"pids=63"}, "at least 64"},
		{[]string{"cpuWeight=10001"}, "from 1 to 10000"},
		{[]string{"deadman=soon"}, "such as 90s"},
		{[]string{"deadman=999ms"}, "a second or more"},
	} {
		_, err := ParseOptions(c.pairs)
		if !errors.Is(err, ErrOption) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v, want ErrOption with %q", c.pairs, err, c.want)
		}
	}
}
