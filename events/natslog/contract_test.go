package natslog_test

import (
	"testing"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/logtest"
	"github.com/annals-memory/annals/events/natslog"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/events/seal/sealtest"
)

func TestContractProcess(t *testing.T) {
	t.Parallel()
	logtest.Run(t, func(t *testing.T) events.Log {
		t.Helper()
		return fresh(t, natslog.DurabilityProcess).Log()
	})
}

func TestContractPower(t *testing.T) {
	t.Parallel()
	logtest.Run(t, func(t *testing.T) events.Log {
		t.Helper()
		return fresh(t, natslog.DurabilityPower).Log()
	})
}

func TestRowsContract(t *testing.T) {
	t.Parallel()
	sealtest.Rows(t, func(t *testing.T) seal.Rows {
		t.Helper()
		return fresh(t, natslog.DurabilityProcess).Keys()
	})
}
