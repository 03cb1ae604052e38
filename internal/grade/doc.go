// Package grade decides whether a trial passed, from its trace, and whether a case passed, from its
// trials: the assertions of an eval case (contract §1.4), the share of trials that must pass, and
// the difference between a failed trial, one that infrastructure lost and one that's missing. It
// reads no config, starts no judge and writes no file.
package grade
