// Package driver works the ChatGPT app's window over accessibility: Prepare takes it through its
// first-run screens to an empty composer on the wanted surface, and Submit sees a prompt that was
// handed over arrive there, and sends it, once. What the app shows is data (apps.go), what to do about
// it a table (screens.go); a screen that is in neither is left alone and fails. It starts no app, hands
// nothing over itself and doesn't know what the app answers: those are package chatgpt's and the
// rollout's.
package driver
