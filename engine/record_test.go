package engine

import (
	"errors"
	"testing"

	"github.com/dabba-mq/dabba/store"
)

func TestCatalogEntry(t *testing.T) {
	t.Parallel()
	value, err := encodeRecord(record{id: 77, config: DefaultConfig()})
	if err != nil {
		t.Fatal(err)
	}
	want := Ref{"a/b", "orders"}
	ref, id, ok, err := CatalogEntry(store.Pair{Key: catalogKey(want), Value: value})
	if err != nil || !ok || ref != want || id != 77 {
		t.Errorf("CatalogEntry = %v, %d, %v, %v; want %v, 77", ref, id, ok, err, want)
	}
	if _, _, ok, err := CatalogEntry(store.Pair{Key: "engine/secret", Value: value}); ok || err != nil {
		t.Errorf("CatalogEntry of another pair = %v, %v; want none", ok, err)
	}
	for key, value := range map[string]string{"q/default": string(value), "q/default/x": "{"} {
		if _, _, ok, err := CatalogEntry(store.Pair{Key: key, Value: []byte(value)}); ok || !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("CatalogEntry of %q = %v, %v; want %v", key, ok, err, store.ErrCorrupt)
		}
	}
}
