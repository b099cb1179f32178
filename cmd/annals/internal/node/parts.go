package node

import (
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/annals-memory/annals/cmd/annals/internal/httpapi"
	"github.com/annals-memory/annals/events/natslog"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/producers"
	"github.com/annals-memory/annals/projectors"
	"github.com/annals-memory/annals/query"
	"github.com/annals-memory/annals/tombstones"
)

// The parts of a node, for measuring each without a door before it.

// Gateway is the producers' entry.
func (n *Node) Gateway() *producers.Gateway { return n.gateway }

// Log is the log.
func (n *Node) Log() *natslog.Log { return n.log }

// Sweeper is what ends the wait in quarantine.
func (n *Node) Sweeper() *producers.Sweeper { return n.sweeper }

// Eraser is what forgets.
func (n *Node) Eraser() *tombstones.Eraser { return n.eraser }

// EraserWith is another eraser on the same log and views, with other keys.
func (n *Node) EraserWith(keys *seal.Keyring) (*tombstones.Eraser, error) {
	c := n.eraseConfig
	c.Keys = keys
	e, err := tombstones.New(c)
	if err != nil {
		return nil, fmt.Errorf("tombstones: %w", err)
	}
	return e, nil
}

// EraserOn is another eraser on the same keys and views, with another way to the
// log.
func (n *Node) EraserOn(log tombstones.Log) (*tombstones.Eraser, error) {
	c := n.eraseConfig
	c.Log = log
	e, err := tombstones.New(c)
	if err != nil {
		return nil, fmt.Errorf("tombstones: %w", err)
	}
	return e, nil
}

// Keys are the keys.
func (n *Node) Keys() *seal.Keyring { return n.keys }

// Conn is the connection to the log's server.
func (n *Node) Conn() *nats.Conn { return n.conn }

// Views are the views.
func (n *Node) Views() *projectors.Views { return n.views }

// QueryWith is a query service over the same views with another encoder.
func (n *Node) QueryWith(model query.Encoder) (*query.Service, error) {
	c := n.queryConfig
	c.Model = model
	return query.New(c)
}

// Encoder is the node's own encoder of questions.
func (n *Node) Encoder() query.Encoder { return n.queryConfig.Model }

// Routes is the table of everything that can be called.
func (n *Node) Routes() []httpapi.Route { return n.api.Routes() }
