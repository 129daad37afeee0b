"""The pytest plugin: a property is a test item; engines are imported only where a test has the marker."""
