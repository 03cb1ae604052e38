package rollout

import (
	"io/fs"
	"path/filepath"
	"slices"
)

// Other is a record that began after the snapshot and isn't taken for the prompt's.
type Other struct {
	Originator string
	// Prompts counts its turns that have one, and Same tells that one of them is the prompt.
	Prompts int
	Same    bool
	// Elsewhere: it's below the home, and not where records are looked for.
	Elsewhere bool
	// Unreadable: it can't be read as a record.
	Unreadable bool
}

// maxOthers bounds Others: an agent may make any number of files.
const maxOthers = 32

// Others describes the records that were seen so far but for one, and those in other folders of the home.
func (b *Binder) Others(but *Bound) []Other {
	var all []Other
	paths, _ := b.snapshot.New() // what can't be listed isn't told of
	for _, path := range paths[:min(len(paths), maxOthers)] {
		if but == nil || but.Rollout.Path() != path {
			all = append(all, b.describe(path))
		}
	}
	for range b.elsewhere() {
		all = append(all, Other{Elsewhere: true})
	}
	return all[:min(len(all), maxOthers)]
}

func (b *Binder) describe(path string) Other {
	r := Open(path, b.criteria.Labels)
	_, err := r.Poll()
	o := Other{Originator: r.Meta().Originator, Unreadable: err != nil || r.Meta().SessionID == ""}
	for _, t := range r.Turns() {
		if t.HasPrompt {
			o.Prompts++
			o.Same = o.Same || MatchPrompt(b.criteria.Prompt, t.Prompt, b.criteria.Allowed...) != ""
		}
	}
	return o
}

// elsewhere lists files that are called as records are, in folders that aren't looked into.
func (b *Binder) elsewhere() []string {
	usual, _ := list(b.snapshot.home)
	var found []string
	_ = filepath.WalkDir(b.snapshot.home, func(path string, d fs.DirEntry, err error) error {
		if len(found) == maxOthers {
			return filepath.SkipAll
		}
		// What can't be looked into isn't told of.
		if err == nil && d.Type().IsRegular() && isRecord(d.Name()) && !slices.Contains(usual, path) && b.young(d) {
			found = append(found, path)
		}
		return nil
	})
	return found
}

// young tells a file that was written since the prompt was handed over.
func (b *Binder) young(d fs.DirEntry) bool {
	info, err := d.Info()
	return err == nil && !info.ModTime().Before(b.since())
}
