#!/usr/bin/env node
/** The command. This file exists before the package is built, so that installing a clone can link it. */
import './dist/main.js';
