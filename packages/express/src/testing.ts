/** Test clocks, which move only when a test advances them. */

export * from '@spillway/core/testing';
