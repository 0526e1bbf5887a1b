/** Warnings of the library that a test provokes on its way are not printed. A test about one spies on `process.emitWarning`. */
"use strict";

const emitWarning = process.emitWarning.bind(process);

process.emitWarning = (warning, ...options) => {
  if (options[0]?.type !== "AuthmountWarning") emitWarning(warning, ...options);
};
