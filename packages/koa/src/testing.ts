/** @spillway/koa/testing: a clock for the tests of an app, which moves only when a test advances it. */

export * from '@spillway/core/testing';
