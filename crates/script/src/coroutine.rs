//! The coroutine of a connection: it calls the script's functions, one after the other, and what they ask is answered
//! here.

use crate::asked::{AnswerCode, MARK, QuestionKind};
use crate::lua_value::{number, told};
use crate::refusal::{RefusedExchange, begins_again};
use crate::script::Script;
use crate::shell::ShellCommand;
use crate::thread::{ScriptThread, Size};
use crate::vm::Vm;
use mlua::{IntoLuaMulti, MultiValue, Thread, Value};
use plimsoll_engine::Failure;
use std::cell::Cell;
use std::rc::Rc;

/// A question with its values, of which it may have fewer.
struct Question {
    kind: QuestionKind,
    values: [Value; 3],
}

impl Question {
    /// A value that is the number of something; none of them has the largest number there is.
    fn place(&self, value: usize) -> usize {
        number(&self.values[value]).map_or(usize::MAX, |number| number as usize)
    }
}

/// Where a coroutine has stopped that wants nothing.
enum Paused {
    /// The function has returned this, or was not defined.
    Returned(Option<Value>),
    EventEnded,
}

pub struct ScriptCoroutine {
    vm: Rc<Vm>,
    /// It stands behind an event of a script that runs them itself.
    is_paused: Cell<bool>,
    coroutine: Thread,
    thread: Rc<ScriptThread>,
}

impl ScriptCoroutine {
    /// An environment with a coroutine, in which nothing has run yet.
    ///
    /// # Errors
    /// Those of memory alone.
    pub fn new(
        vm: &Rc<Vm>,
        script: &Script,
        thread: &Rc<ScriptThread>,
        threads: usize,
    ) -> Result<ScriptCoroutine, Failure> {
        let made = vm.environment(script, thread.tid, threads).and_then(|body| vm.lua.create_thread(body));
        let coroutine = made.map_err(|error| Failure::Script(told(&error)))?;
        Ok(ScriptCoroutine { vm: vm.clone(), is_paused: Cell::default(), coroutine, thread: thread.clone() })
    }

    /// Runs the coroutine up to its next question, on behalf of this thread.
    fn resume(&self, answer: impl IntoLuaMulti) -> Result<Question, Failure> {
        let begun_ns = self.thread.now_ns();
        self.vm.current.replace(Some(self.thread.clone()));
        let resumed = self.vm.slice(|| self.coroutine.resume::<(Value, Value, Value, Value, Value)>(answer));
        self.vm.current.replace(None);
        self.thread.computed_since(begun_ns);
        let (mark, number, a, b, c) = resumed.map_err(|error| Failure::Script(told(&error)))?;
        let kind = number.as_i64().filter(|_| mark == Value::LightUserData(MARK)).and_then(QuestionKind::of);
        let kind = kind.ok_or_else(|| malformed("coroutine.yield outside of a coroutine of its own"))?;
        if !kind.is_timed() {
            self.thread.waited();
        }
        Ok(Question { kind, values: [a, b, c] })
    }

    /// Calls a function of the script by its name, with the thread's number, and sees it through: what it has returned, or
    /// `None` if it is not defined.
    ///
    /// # Errors
    /// [`Failure::Script`] if it raised an error of its own, the server's failure if that is what it raised.
    pub async fn call(&self, function: &str) -> Result<Option<Value>, Failure> {
        self.call_with(function, self.thread.tid).await
    }

    /// The same with another argument than the thread's number.
    ///
    /// # Errors
    /// As [`ScriptCoroutine::call`].
    pub async fn call_with(&self, function: &str, arguments: impl IntoLuaMulti) -> Result<Option<Value>, Failure> {
        match self.answer(self.resume((function, arguments))?).await? {
            Paused::Returned(value) => Ok(value),
            Paused::EventEnded => Err(malformed("the end of an event outside of thread_run()")),
        }
    }

    /// Begins a function of the script that runs its events itself, or goes on with it: up to the end of its next event,
    /// which is true, or of the function.
    ///
    /// # Errors
    /// As [`ScriptCoroutine::call`].
    pub async fn next_event(&self, function: &str) -> Result<bool, Failure> {
        let question = match self.is_paused.replace(false) {
            true => self.resume(())?,
            false => self.resume((function, self.thread.tid))?,
        };
        let paused = self.answer(question).await?;
        self.is_paused.set(matches!(paused, Paused::EventEnded));
        Ok(self.is_paused.get())
    }

    /// Sees a function through that stands behind one of its events, if there is one: it asks whether there are more, and
    /// ends.
    ///
    /// # Errors
    /// As [`ScriptCoroutine::call`]; [`Failure::Cancelled`] where it begins further events until the run is given up.
    pub async fn see_through(&self, function: &str) -> Result<(), Failure> {
        while self.is_paused.get() {
            // It may begin events without asking.
            self.thread.give_way().await;
            if !self.thread.sleep(0.0).await {
                return Err(Failure::Cancelled);
            }
            self.next_event(function).await?;
        }
        Ok(())
    }

    async fn answer(&self, mut question: Question) -> Result<Paused, Failure> {
        loop {
            let (a, b) = (question.place(0), question.place(1));
            let next = match question.kind {
                QuestionKind::Done => return Ok(Paused::Returned(returned(question))),
                QuestionKind::Ended => return Ok(Paused::EventEnded),
                QuestionKind::More => {
                    self.thread.give_way().await;
                    self.resume(self.thread.has_more_events())
                }
                QuestionKind::Failed => return Err(self.failure(&question)),
                QuestionKind::Connect => match self.thread.connect().await {
                    Ok(connection) => self.resume((AnswerCode::Well as i64, connection)),
                    Err(refusal) => self.resume(self.refused(refusal)?),
                },
                QuestionKind::Disconnect => self.resume(self.thread.disconnect(a).await),
                QuestionKind::Reconnect => {
                    let ended = self.thread.reconnect(a).await.map(|()| None);
                    self.resume(self.ended(ended)?)
                }
                QuestionKind::Query => {
                    let Value::String(sql) = &question.values[1] else {
                        return Err(malformed("a query that is no text"));
                    };
                    let ended = self.thread.query(a, &sql.as_bytes()).await;
                    self.resume(self.ended(ended)?)
                }
                QuestionKind::Prepare => {
                    let Value::String(sql) = &question.values[1] else {
                        return Err(malformed("a statement that is no text"));
                    };
                    let sql = sql.to_string_lossy();
                    match self.thread.prepare(a, &sql).await {
                        Ok(statement) => self.resume((AnswerCode::Well as i64, statement)),
                        Err(refusal) => self.resume(self.refused(refusal)?),
                    }
                }
                QuestionKind::Execute => {
                    let ended = self.thread.execute(a, b).await;
                    self.resume(self.ended(ended)?)
                }
                QuestionKind::Close => {
                    self.thread.close(a, b).await;
                    self.resume(())
                }
                QuestionKind::Flush => {
                    let ended = self.thread.flush_bulk(a).await;
                    self.resume(self.ended(ended)?)
                }
                QuestionKind::Shell => self.shell(&question).await,
                QuestionKind::Sleep => match self.thread.sleep(number(&question.values[0]).unwrap_or(0.0)).await {
                    true => self.resume(()),
                    false => return Err(Failure::Cancelled),
                },
            };
            question = next?;
        }
    }

    /// Runs a command of the script's, whose status and output are the answer.
    async fn shell(&self, question: &Question) -> Result<Question, Failure> {
        let [Value::String(command), is_read, input] = &question.values else {
            return Err(malformed("a command that is no text"));
        };
        let command = ShellCommand {
            text: command.as_bytes().to_vec(),
            input: input.as_string().map(|input| input.as_bytes().to_vec()).unwrap_or_default(),
            is_read: is_read.as_boolean() == Some(true),
        };
        let (status, printed) = self.thread.shell(command).await?.ok_or(Failure::Cancelled)?;
        let printed = self.vm.lua.create_string(printed).map_err(|error| Failure::Script(told(&error)))?;
        self.resume((status, printed))
    }

    /// How an exchange ended, as the prelude reads it: how, then rows and columns of a result, or the error's number,
    /// state and text.
    ///
    /// # Errors
    /// [`Failure::Cancelled`] where the run is over.
    fn ended(&self, ended: Result<Option<Size>, RefusedExchange>) -> Result<MultiValue, Failure> {
        match ended {
            Ok(Some((rows, columns))) => self.packed((AnswerCode::Well as i64, rows, columns)),
            Ok(None) => self.packed(AnswerCode::Well as i64),
            Err(refusal) => self.refused(refusal),
        }
    }

    fn packed(&self, values: impl IntoLuaMulti) -> Result<MultiValue, Failure> {
        values.into_lua_multi(&self.vm.lua).map_err(|error| Failure::Script(told(&error)))
    }

    fn refused(&self, refusal: RefusedExchange) -> Result<MultiValue, Failure> {
        match refusal {
            RefusedExchange::Over => Err(Failure::Cancelled),
            RefusedExchange::Closed => self.packed(AnswerCode::Closed as i64),
            RefusedExchange::Error(message, again) => {
                let ended = if again { AnswerCode::Again } else { AnswerCode::Fatal };
                let state = String::from_utf8_lossy(&message.state).into_owned();
                self.packed((ended as i64, message.code, state, message.text))
            }
        }
    }

    /// Why a function of the script did not return: the server's failure, if that is what it has raised, unless the script
    /// has decided that such an event begins again.
    fn failure(&self, question: &Question) -> Failure {
        let [again, of_server, text] = &question.values;
        let (again, of_server) = (again.as_boolean() == Some(true), of_server.as_boolean() == Some(true));
        let failure = self.thread.take_failure().filter(|_| of_server && self.thread.compatible().is_none());
        match failure {
            Some(Failure::Server(message)) if again && !begins_again(&message) => Failure::Again,
            Some(failure) => failure,
            None if again => Failure::Again,
            None => Failure::Script(text.to_string().unwrap_or_else(|_| "(not a string)".to_owned())),
        }
    }
}

fn malformed(what: &str) -> Failure {
    Failure::Script(format!("the script asks for {what}"))
}

/// What a function of the script has returned; `None` if it is not defined.
fn returned(question: Question) -> Option<Value> {
    let [is_defined, value, _] = question.values;
    is_defined.as_boolean().unwrap_or_default().then_some(value)
}
