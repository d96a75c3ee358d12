/** @spillway/fastify/testing: helpers for tests of apps behind limits, those of `@spillway/core/testing`. */

export * from '@spillway/core/testing';
