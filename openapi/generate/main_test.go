package main

import (
	"bytes"
	"os"
	"testing"
)

func TestTheCommittedDocumentIsFresh(t *testing.T) {
	raw, err := annotations("../../handlers")
	if err != nil {
		t.Fatal(err)
	}
	want, err := mend(raw)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("openapi/openapi.json is not what the annotations say: run go generate ./openapi")
	}
}

func TestAnAlternativeNeedsA200(t *testing.T) {
	if err := joinAlternative(node{alternative: node{}}); err == nil {
		t.Error("an alternative form of nothing was taken")
	}
}
