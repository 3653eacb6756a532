package com.example;

import java.util.Map;

/** A scanner that nobody can make. */
public final class Narrow extends Bad {
    Narrow(Map<String, String> parameters) {
        super(1, parameters);
    }
}
