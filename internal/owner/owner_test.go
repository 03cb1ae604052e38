package owner

import (
	"errors"
	"testing"
)

var self = Identity{Host: "h1", Boot: "b1", PIDNamespace: "pid:[4026531836]", PID: 100, Start: "5000"}

// observerWith sees the given processes, pid to start time.
func observerWith(self Identity, running map[int]string) observer {
	return observer{self: self, start: func(pid int) (string, error) {
		if s, ok := running[pid]; ok {
			return s, nil
		}
		return "", errGone
	}}
}

func TestJudge(t *testing.T) {
	running := map[int]string{100: "5000", 200: "7000"}
	with := func(change func(*Identity)) Identity {
		id := Identity{Host: "h1", Boot: "b1", PIDNamespace: "pid:[4026531836]", PID: 200, Start: "7000"}
		change(&id)
		return id
	}
	container := Identity{Boot: "b1", PIDNamespace: "pid:[4026532200]", PID: 7, Start: "6000"}
	for name, tt := range map[string]struct {
		self Identity
		id   Identity
		want Verdict
	}{
		"itself":                    {self, self, Alive},
		"another that runs":         {self, with(func(*Identity) {}), Alive},
		"gone":                      {self, with(func(i *Identity) { i.PID = 300 }), Dead},
		"pid used again":            {self, with(func(i *Identity) { i.Start = "6999" }), Dead},
		"gone, host renamed":        {self, with(func(i *Identity) { i.PID = 300; i.Host = "other" }), Dead},
		"before the reboot":         {self, with(func(i *Identity) { i.Boot = "b0" }), Dead},
		"another host, same pid":    {self, with(func(i *Identity) { i.Boot = "b9"; i.Host = "h9" }), Unknown},
		"another host, pid is free": {self, with(func(i *Identity) { i.Boot = "b9"; i.Host = "h9"; i.PID = 300 }), Unknown},
		"host unknown":              {self, with(func(i *Identity) { i.Boot = "b0"; i.Host = "" }), Unknown},
		"no host either side":       {container, with(func(i *Identity) { i.Boot = "b0"; i.Host = "" }), Unknown},
		"no boot":                   {self, with(func(i *Identity) { i.Boot = ""; i.PID = 300 }), Unknown},
		"no boot here":              {Identity{Host: "h1", PIDNamespace: self.PIDNamespace}, with(func(i *Identity) { i.PID = 300 }), Unknown},
		"no boot at all":            {Identity{Host: "h1", PIDNamespace: self.PIDNamespace}, with(func(i *Identity) { i.Boot = ""; i.PID = 300 }), Unknown},
		"no namespace":              {self, with(func(i *Identity) { i.PIDNamespace = ""; i.PID = 300 }), Unknown},
		"no start time":             {self, with(func(i *Identity) { i.Start = "" }), Unknown},
		"no pid":                    {self, with(func(i *Identity) { i.PID = 0 }), Unknown},
		"process group as pid":      {self, with(func(i *Identity) { i.PID = -300 }), Unknown},
		// Two containers on one host: the same kernel, maybe the same host name and machine id.
		"host's, seen from a container":  {container, with(func(i *Identity) { i.PID = 300 }), Unknown},
		"container's, seen from outside": {self, Identity{Boot: "b1", PIDNamespace: "pid:[4026532300]", PID: 7, Start: "1"}, Unknown},
		"another container's":            {container, Identity{Boot: "b1", PIDNamespace: "pid:[4026532300]", PID: 7, Start: "1"}, Unknown},
		"own container's, gone":          {container, Identity{Boot: "b1", PIDNamespace: "pid:[4026532200]", PID: 8, Start: "1"}, Dead},
		// The number of a namespace is used again: all that ran in the old one is gone.
		"container before, number used again": {container, Identity{Boot: "b1", PIDNamespace: "pid:[4026532200]", PID: 100, Start: "4000"}, Dead},
		// Two hosts run the same image, so their containers share machine id and name.
		"container on another host": {container, Identity{Boot: "b2", PIDNamespace: "pid:[4026532200]", PID: 7, Start: "1"}, Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			if got := observerWith(tt.self, running).judge(tt.id); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

func TestUnreadableProcessIsNotDead(t *testing.T) {
	o := observer{self: self, start: func(int) (string, error) { return "", errors.New("permission denied") }}
	if got := o.judge(self); got != Unknown {
		t.Errorf("%v, want unknown", got)
	}
}
