package oci_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/berth-run/berth/oci"
)

func TestInvalid(t *testing.T) {
	for name, tt := range map[string]struct {
		spec  oci.ShardSpec
		field string
	}{
		"relative program":       {oci.ShardSpec{Args: []string{"sh"}}, "Args"},
		"empty program":          {oci.ShardSpec{Args: []string{"", "init"}}, "Args"},
		"NUL in an argument":     {oci.ShardSpec{Args: []string{"/bin/sh", "a\x00b"}}, "Args"},
		"no equals sign":         {oci.ShardSpec{Env: []string{"DEBUG"}}, "Env"},
		"empty name":             {oci.ShardSpec{Env: []string{"=1"}}, "Env"},
		"name with a space":      {oci.ShardSpec{Env: []string{"A B=1"}}, "Env"},
		"name with a digit":      {oci.ShardSpec{Env: []string{"1A=1"}}, "Env"},
		"NUL in a value":         {oci.ShardSpec{Env: []string{"A=1\x00PATH=/x"}}, "Env"},
		"twice":                  {oci.ShardSpec{Env: []string{"A=1", "A=2"}}, "Env"},
		"PATH":                   {oci.ShardSpec{Env: []string{"PATH=/evil"}}, "PATH is fixed"},
		"HOME":                   {oci.ShardSpec{Env: []string{"HOME=/"}}, "HOME is fixed"},
		"session bus":            {oci.ShardSpec{Env: []string{"DBUS_SESSION_BUS_ADDRESS=tcp:"}}, "DBUS_SESSION_BUS_ADDRESS is fixed"},
		"host name with a dot":   {oci.ShardSpec{Hostname: "a.b"}, "Hostname"},
		"host name with a dash":  {oci.ShardSpec{Hostname: "-a"}, "Hostname"},
		"host name of 64":        {oci.ShardSpec{Hostname: strings.Repeat("a", 64)}, "Hostname"},
		"negative memory":        {oci.ShardSpec{MemoryBytes: -1}, "MemoryBytes"},
		"too little memory":      {oci.ShardSpec{MemoryBytes: oci.MinMemoryBytes - 1}, "MemoryBytes"},
		"unlimited processes":    {oci.ShardSpec{Pids: -1}, "Pids"},
		"too few processes":      {oci.ShardSpec{Pids: oci.MinPids - 1}, "Pids"},
		"too much weight":        {oci.ShardSpec{CPUWeight: 10001}, "CPUWeight"},
		"negative home":          {oci.ShardSpec{HomeBytes: -1}, "HomeBytes"},
		"negative temporary dir": {oci.ShardSpec{TmpBytes: math.MinInt64}, "TmpBytes"},
	} {
		t.Run(name, func(t *testing.T) {
			spec, err := tt.spec.Spec()
			if !errors.Is(err, oci.ErrInvalid) || spec != nil {
				t.Fatalf("got %v, %v; want ErrInvalid", spec, err)
			}
			if !strings.Contains(err.Error(), tt.field) {
				t.Errorf("%q doesn't name %s", err, tt.field)
			}
		})
	}
}

func TestEnvErrorsKeepValuesOut(t *testing.T) {
	for _, kv := range []string{"hunter2", "A-B=hunter2", "PATH=hunter2", "A=hunter2\x00"} {
		_, err := oci.ShardSpec{Env: []string{kv}}.Spec()
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", kv, err)
		}
	}
}
