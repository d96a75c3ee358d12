#!/usr/bin/env node
/** The command. It is there before the package is built, so that installing a clone links it. */
import './dist/main.js';
