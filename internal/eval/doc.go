// Package eval runs one eval from its config to its report. It joins the parts: config and plan,
// image and engine, the way to the model, the runner, the results folder, grades and report. Each of
// these does its own work; what is here is their order, and what a failure of each means for the
// exit status.
package eval
