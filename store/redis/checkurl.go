package redis

// CheckURL says what is wrong with the form of an [Options].URL, nil if nothing is. The error does not repeat it.
func CheckURL(text string) error {
	_, err := parseEndpoint(text)
	return err
}
