package results

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Artifact is a file that was kept of a trial.
type Artifact struct {
	// Path is relative to the run's folder, "" when the file isn't there: see State.
	Path string `json:"path,omitempty"`
	// Name is the path that the shard gave it, below its batch's evidence.
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	State  string `json:"state"`
	// Shard is where it came from, -1 when it isn't there.
	Shard int `json:"shard"`
}

// States of an artifact.
const (
	ArtifactOK      = "ok"
	ArtifactChanged = "changed" // secrets, or answers that the run doesn't store, were taken out of it at home, or somebody edited it
	ArtifactMissing = "missing" // it didn't come home
)

// Artifacts finds the files that a trial's record names.
func (r *Run) Artifacts(t *Trial) []Artifact {
	var named []struct {
		Path   string `json:"path"`
		SHA256 string `json:"sha256"`
		Bytes  int64  `json:"bytes"`
	}
	body, err := json.Marshal(t.ClientMetadata["artifacts"])
	if err != nil || json.Unmarshal(body, &named) != nil {
		return nil
	}
	var all []Artifact
	for _, n := range named {
		a := Artifact{Name: n.Path, Bytes: n.Bytes, SHA256: n.SHA256, State: ArtifactMissing, Shard: -1}
		if filepath.IsLocal(n.Path) {
			r.locate(&a)
		}
		all = append(all, a)
	}
	return all
}

// locate finds a file among what the shards' batches kept. Their folders' names are random.
func (r *Run) locate(a *Artifact) {
	root := filepath.Join(r.Dir, "artifacts")
	shards, _ := os.ReadDir(root) // none: it's missing
	for _, shard := range shards {
		number, ok := strings.CutPrefix(shard.Name(), "shard-")
		index, err := strconv.Atoi(strings.SplitN(number, ".", 2)[0])
		if !ok || err != nil {
			continue
		}
		batches, _ := os.ReadDir(filepath.Join(root, shard.Name()))
		for _, batch := range batches {
			rel := filepath.Join("artifacts", shard.Name(), batch.Name(), a.Name)
			if sum, err := r.sum(rel); err == nil {
				a.Path, a.Shard, a.State = rel, index, ArtifactChanged
				if sum == a.SHA256 {
					a.State = ArtifactOK
					return
				}
			}
		}
	}
}

func (r *Run) sum(rel string) (string, error) {
	root, err := os.OpenRoot(r.Dir) // what a shard sent may be links
	if err != nil {
		return "", err
	}
	defer root.Close()
	f, err := root.Open(rel)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// FindRun opens a run by its folder, or by what Open takes in any of the evals' folders below base.
func FindRun(base, evalDir, name string) (*Run, error) {
	if _, err := os.Stat(filepath.Join(name, "run.json")); err == nil {
		abs, err := filepath.Abs(name)
		if err != nil {
			return nil, err
		}
		return Open("", abs)
	}
	if evalDir != "" {
		return Open(evalDir, name)
	}
	newest, err := newestWith(base, name)
	if err != nil {
		return nil, err
	}
	return Open(newest, name)
}
