package inference

import "errors"

var (
	// ErrNoWay: nothing in the environment says where the model is.
	ErrNoWay = errors.New("no way to a model: set OPENAI_BASE_URL (a gateway) with MST_LLM_AUTH_COMMAND or OPENAI_API_KEY, or OPENAI_API_KEY alone (OpenAI itself), or rehearse with no account by --script FILE (--script default answers by echo)")
	// ErrNoToken: a gateway without a credential.
	ErrNoToken = errors.New("OPENAI_BASE_URL is set, but no token: set MST_LLM_AUTH_COMMAND to a shell command that prints one, or OPENAI_API_KEY")
	// ErrBaseURL: OPENAI_BASE_URL can't be used. The URL itself isn't repeated.
	ErrBaseURL = errors.New("OPENAI_BASE_URL is not usable")
	// ErrTTL: MST_LLM_AUTH_COMMAND_TTL_MS isn't a number of milliseconds.
	ErrTTL = errors.New("MST_LLM_AUTH_COMMAND_TTL_MS must be a whole number of milliseconds above 0")
	// ErrCommand: the token command failed, hung, or printed no token. Its output isn't repeated.
	ErrCommand = errors.New("MST_LLM_AUTH_COMMAND")
	// ErrToken: a token that can't be sent as a bearer.
	ErrToken = errors.New("not a token")
	// ErrBrokerMode: only a gateway's credential can be kept out of the shard.
	ErrBrokerMode = errors.New("credential=broker needs a gateway (OPENAI_BASE_URL): without one, Codex itself logs in with the key, inside the shard")
)
