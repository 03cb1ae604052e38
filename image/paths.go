package image

import "strings"

// whiteout begins names that mean something else in image layers: what is gone.
const whiteout = ".wh."

// hiddenPaths are where a shard mounts something of its own: what an image has there isn't seen. Those
// below var are Debian's links to /run, whose place a folder of a layer would take.
var hiddenPaths = []string{"dev", "home/berth", "proc", "run", "sys", "tmp", "var/lock", "var/run"}

// hiddenBy is the one of hiddenPaths that a path is at or below, "" for none.
func hiddenBy(name string) string {
	for _, h := range hiddenPaths {
		if name == h || strings.HasPrefix(name, h+"/") {
			return h
		}
	}
	return ""
}

// mergedPaths are links in Debian. A folder of that name in a layer would take the link's place,
// and the system's programs with it.
var mergedPaths = map[string]string{
	"bin": "usr/bin", "lib": "usr/lib", "lib64": "usr/lib64", "sbin": "usr/sbin",
}

// merged is a path without those links.
func merged(name string) string {
	first, rest, _ := strings.Cut(name, "/")
	if to, ok := mergedPaths[first]; ok {
		first = to
	}
	return strings.TrimSuffix(first+"/"+rest, "/")
}
