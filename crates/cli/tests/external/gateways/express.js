// An API in Express, as its documentation shows one. Says its port when it listens.
const express = require("express");

const app = express();
const says = (name) => (request, response) => response.type("text").send(name);
app.all("/login", says("login"));
app.all("/health", says("health"));
app.all("/users/:id/posts", says("posts"));
app.all("/:page", says("page"));
const server = app.listen(0, "127.0.0.1", () => console.log(`port ${server.address().port}`));
