/** @spillway/koa/testing: a test clock, which moves only when a test advances it. */

export * from '@spillway/core/testing';
