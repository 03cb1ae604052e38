// Package rollout reads the record that Codex keeps of a session: the JSON lines in
// CODEX_HOME/sessions/YYYY/MM/DD/rollout-*.jsonl. It finds the record that belongs to a prompt, follows
// it while it grows, and turns it into a trace. It's what every client whose engine is Codex decides a
// trial's outcome by; it starts nothing and knows no app.
//
// A record is read once, front to back, in what was appended since the last Poll. Only the turns that
// it describes are kept in memory, not its text.
package rollout
