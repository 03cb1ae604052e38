package evalconfig

import "strings"

// maxKey is the longest key worth guessing at.
const maxKey = 64

// nearest is the candidate that key is probably a misspelling of, or "": the same letters in
// another case or with other separators, or few edits away for its length.
func nearest(key string, candidates []string) string {
	if len(key) > maxKey {
		return ""
	}
	best, bestDistance := "", 1+len(key)/3
	for _, c := range candidates {
		if plain(c) == plain(key) {
			return c
		}
		if d := editDistance(strings.ToLower(key), strings.ToLower(c)); d < bestDistance || d == bestDistance && best == "" && d <= 2 {
			best, bestDistance = c, d
		}
	}
	return best
}

func plain(s string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(s))
}

// editDistance is Levenshtein's, in bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			diagonal, row[j] = row[j], min(row[j]+1, row[j-1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
