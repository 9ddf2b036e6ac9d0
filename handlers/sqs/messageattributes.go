package sqs

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/dabba-mq/dabba/engine"
)

const (
	// maxAttributes is the most attributes a message may have.
	maxAttributes = 10
	// maxAttributeName bounds an attribute's name and, apart from it, its type.
	maxAttributeName = 256
	// systemTrace is the one system attribute that a sender may give; traceAttribute is the attribute it is kept as,
	// whose name no sender may use.
	systemTrace    = "AWSTraceHeader"
	traceAttribute = "AWS.TraceHeader"
	// maxTrace is how long a trace may be, which is several times what they are.
	maxTrace = 1024
)

// The types of attributes, which may be followed by a dot and a name of the sender's own.
const (
	stringType = "String"
	numberType = "Number"
	binaryType = "Binary"
)

func checkAttributes(all map[string]messageAttribute) *fault {
	if len(all) > maxAttributes {
		return invalidParameterValue.is("Number of message attributes [" + strconv.Itoa(len(all)) +
			"] exceeds the allowed maximum [" + strconv.Itoa(maxAttributes) + "].")
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if f := checkAttributeName(name); f != nil {
			return f
		}
		if f := checkAttribute(name, all[name]); f != nil {
			return f
		}
	}
	return nil
}

// checkLists refuses all of a send that has a list as the value of an attribute, also an empty one: SQS reserves them.
func checkLists(operation string, o *outgoing) *fault {
	for _, all := range []map[string]messageAttribute{o.MessageAttributes, o.MessageSystemAttributes} {
		for _, a := range all {
			if a.StringListValues != nil || a.BinaryListValues != nil {
				return unsupportedOperation.is("Message attribute list values in " + operation + " operation are not supported.")
			}
		}
	}
	return nil
}

func checkAttributeName(name string) *fault {
	lower := strings.ToLower(name)
	switch {
	case name == "":
		return invalidParameterValue.is("The name of a message attribute cannot be empty.")
	case len(name) > maxAttributeName:
		return invalidParameterValue.is("The name of a message attribute can have at most 256 bytes.")
	case strings.ContainsFunc(name, foreign):
		return invalidParameterValue.is("The message attribute name '" + printable(name) +
			"' is invalid. It can only include letters, digits, hyphens, underscores and periods.")
	case strings.HasPrefix(lower, "aws."), strings.HasPrefix(lower, "amazon."):
		return invalidParameterValue.is("The message attribute name '" + name +
			"' is invalid. Names that begin with AWS. or Amazon. are reserved.")
	case strings.HasPrefix(name, "."), strings.HasSuffix(name, "."), strings.Contains(name, ".."):
		return invalidParameterValue.is("The message attribute name '" + name +
			"' is invalid. It cannot begin or end with a period, nor have two in a row.")
	}
	return nil
}

// foreign says that names of attributes do not have the character. Letters with accents are fine.
func foreign(r rune) bool {
	switch {
	case r == '.', r == '_', r == '-', r >= '0' && r <= '9':
		return false
	}
	return !unicode.Is(unicode.Latin, r)
}

// printable is s as it can be shown in a fault.
func printable(s string) string { return strings.Trim(strconv.QuoteToGraphic(s), `"`) }

func checkAttribute(name string, a messageAttribute) *fault {
	base, suffix, custom := strings.Cut(a.DataType, ".")
	if base != stringType && base != numberType && base != binaryType || custom && suffix == "" {
		return invalidParameterValue.is("The message attribute '" + name +
			"' has an invalid message attribute type, the set of supported type prefixes is Binary, Number, and String.")
	}
	if len(a.DataType) > maxAttributeName || strings.ContainsFunc(a.DataType, unicode.IsControl) || !isLegal(a.DataType) {
		return invalidParameterValue.is("The type of the message attribute '" + name +
			"' is invalid. It can have at most 256 bytes, without control characters.")
	}
	if base == binaryType {
		if len(a.BinaryValue) == 0 || a.StringValue != nil {
			return emptyAttribute("Message (user)", name, base)
		}
		return nil
	}
	switch {
	case a.StringValue == nil, *a.StringValue == "", a.BinaryValue != nil:
		return emptyAttribute("Message (user)", name, base)
	case !isLegal(*a.StringValue):
		return invalidParameterValue.is("The value of the message attribute '" + name + "' has invalid characters.")
	case base == numberType && !isDecimal(*a.StringValue):
		return invalidParameterValue.is("Can't cast the value of message (user) attribute '" + name + "' to a number.")
	}
	return nil
}

func emptyAttribute(kind, name, base string) *fault {
	return invalidParameterValue.is(kind + " attribute '" + name + "' must contain a non-empty value of type '" + base + "'.")
}

// isDecimal takes what people write as decimal numbers.
func isDecimal(s string) bool {
	if n := len(s); n > maxNumber || n > 0 && strings.TrimLeft(s, "0123456789.eE+-") != "" {
		return false
	}
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

// maxNumber is more than 38 digits with sign, point and exponent have.
const maxNumber = 64

// checkSystemAttributes takes one trace at most.
func checkSystemAttributes(all map[string]messageAttribute) *fault {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a := all[name]
		switch {
		case name != systemTrace:
			return invalidParameterValue.is("Message system attribute name '" + printable(abridged(name)) + "' is invalid.")
		case a.DataType != stringType:
			return invalidParameterValue.is("The message system attribute '" + name + "' must have the type String.")
		case a.StringValue == nil, *a.StringValue == "":
			return emptyAttribute("Message (system)", name, stringType)
		case !isTrace(*a.StringValue):
			return invalidParameterValue.is("The value of the message system attribute '" + name +
				"' has invalid characters or more than 1024 bytes.")
		}
	}
	return nil
}

// isTrace says whether a text may be a trace. It does not count in the message's size, so it has a bound of its own.
func isTrace(s string) bool { return len(s) <= maxTrace && isLegal(s) }

// engineAttributes are the attributes as the engine keeps them, by name, and the trace after them.
func engineAttributes(all map[string]messageAttribute, trace string) []engine.Attribute {
	n := len(all)
	if trace != "" {
		n++
	}
	if n == 0 {
		return nil
	}
	out := make([]engine.Attribute, 0, n)
	for name, a := range all {
		kept := engine.Attribute{Name: name, Type: a.DataType, Value: a.BinaryValue}
		if a.StringValue != nil {
			kept.Value = []byte(*a.StringValue)
		}
		if kept.Type == stringType { // which a plain attribute of the engine is
			kept.Type = ""
		}
		out = append(out, kept)
	}
	slices.SortFunc(out, func(a, b engine.Attribute) int { return strings.Compare(a.Name, b.Name) })
	if trace != "" {
		out = append(out, engine.Attribute{Name: traceAttribute, Value: []byte(trace)})
	}
	return out
}

// shownAttribute is an attribute as SQS has it. What other wires sent and SQS does not know becomes what is closest: types
// of one's own become those of strings or bytes, and what is no text becomes bytes.
func shownAttribute(a engine.Attribute) engine.Attribute {
	base, _, _ := strings.Cut(a.Type, ".")
	known := base == stringType || base == numberType || base == binaryType
	switch {
	case base == binaryType:
	case !isLegal(textOf(a.Value)):
		a.Type = strings.TrimSuffix(binaryType+"."+a.Type, ".")
	case a.Type == "":
		a.Type = stringType
	case !known:
		a.Type = stringType + "." + a.Type
	}
	return a
}

// wireAttribute is a shown attribute as the wire has it.
func wireAttribute(a *engine.Attribute) messageAttribute {
	if strings.HasPrefix(a.Type, binaryType) {
		return messageAttribute{DataType: a.Type, BinaryValue: a.Value}
	}
	value := string(a.Value)
	return messageAttribute{DataType: a.Type, StringValue: &value}
}
