/** @spillway/nestjs/testing: what tests of an app need: time that moves only when told. */

export * from '@spillway/core/testing';
