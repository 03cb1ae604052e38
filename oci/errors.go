package oci

import "errors"

// ErrInvalid: a ShardSpec that no shard can be made of. The text after it names the field and what
// it takes.
var ErrInvalid = errors.New("invalid shard spec")
