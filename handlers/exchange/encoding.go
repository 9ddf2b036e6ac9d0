package exchange

import (
	"net/http"
	"strings"
)

// EncodingField is the field of a refusal that is about how a body was encoded, which HTTP answers with 415.
const EncodingField = "Content-Encoding"

// plainBody refuses a body that was compressed on the way: taken as it is, it would not be what the client meant.
func plainBody(w http.ResponseWriter, r *http.Request) error {
	for _, given := range r.Header[EncodingField] {
		if given != "" && !strings.EqualFold(given, "identity") {
			w.Header().Set("Accept-Encoding", "identity")
			return invalid(EncodingField, "Request bodies are read as they are: send this one without Content-Encoding. "+
				"To keep a message compressed, say so in its Content-Type or in an attribute.")
		}
	}
	return nil
}
