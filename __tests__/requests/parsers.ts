/** Body parsers that a host may have ahead of the router. */
import express, { type Express, type RequestHandler } from "express";
import type { Client } from "../../lib";
import { type TestHost, testHost } from "../hosts/host";

/** The handlers of each way to parse. */
export const parsers: Record<string, readonly RequestHandler[]> = {
  "no parser": [],
  "express.json()": [express.json()],
  "express.urlencoded({ extended: false })": [express.urlencoded({ extended: false })],
  "express.urlencoded({ extended: true })": [express.urlencoded({ extended: true })],
  "express.text()": [express.text()],
  "express.raw()": [express.raw()],
  "express.text() of everything": [express.text({ type: "*/*" })],
  "express.raw() of everything": [express.raw({ type: "*/*" })],
  "all of them": [express.json(), express.urlencoded({ extended: true }), express.text(), express.raw()],
  "a parser that parses twice": [
    express.urlencoded({ extended: true }),
    express.urlencoded({ extended: false }),
  ],
};

/** A host with these handlers ahead of the router. */
export function parsedHost(handlers: readonly RequestHandler[], records?: readonly Client[]): TestHost {
  const before = (app: Express): void => {
    for (const handler of handlers) app.use(handler);
  };
  return testHost({ before, ...(records && { clients: records }) });
}
