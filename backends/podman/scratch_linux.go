package podman

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// podmanTmp is where Podman copies images when nobody tells it otherwise.
const podmanTmp = "/var/tmp"

// makeScratch makes a folder for what Podman copies of images: a service that ends in the middle of an import
// leaves it there, as large as the image is. "" leaves Podman to its own settings.
func makeScratch(env []string) string {
	base := variable(env, "TMPDIR")
	if base == "" && setsTmp(env) {
		return ""
	}
	if base == "" {
		base = podmanTmp
	}
	dir, err := os.MkdirTemp(base, "berth-podman-")
	if err != nil {
		return "" // Podman says what's wrong with that, when it comes to it
	}
	return dir
}

var tmpSetting = regexp.MustCompile(`(?m)^\s*image_copy_tmp_dir\b`)

// setsTmp tells whether one of Podman's configuration files names another folder.
func setsTmp(env []string) bool {
	config := variable(env, "XDG_CONFIG_HOME")
	if config == "" {
		config = filepath.Join(variable(env, "HOME"), ".config")
	}
	files := []string{variable(env, "CONTAINERS_CONF"), variable(env, "CONTAINERS_CONF_OVERRIDE")}
	for _, dir := range []string{"/usr/share/containers", "/etc/containers", filepath.Join(config, "containers")} {
		more, _ := filepath.Glob(filepath.Join(dir, "containers.conf.d/*.conf")) // the pattern is a good one
		files = append(append(files, filepath.Join(dir, "containers.conf")), more...)
	}
	for _, name := range files {
		text, _ := os.ReadFile(name) // it needn't be there
		if tmpSetting.Match(text) {
			return true
		}
	}
	return false
}

// variable gives the value of the last that has a name, "" without one.
func variable(env []string, name string) (value string) {
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			value = v
		}
	}
	return value
}
