// Package engines holds the end-to-end tests that every engine has to pass, with the built berth and the
// real Codex: the same eval with the same results, the life of shards beyond their run's, and every
// fault, with what is left of it counted. The engines are the tests' own, so that all that is on them is
// known. Nothing imports it.
package engines
