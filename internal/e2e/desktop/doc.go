// Package desktop is the end-to-end tests of shards with a desktop: the ChatGPT client over the stand-in,
// and the session's own tests, in there, on each suite.
package desktop
